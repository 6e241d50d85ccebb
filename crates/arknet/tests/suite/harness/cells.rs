//! The cells: transport × style × lane model, and the macro that makes a test for each.

/// What carries the bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Transport {
    Tcp,
    Tcps,
    #[cfg(unix)]
    Unix,
}

/// How the application is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Style {
    Callbacks,
    Tasks,
}

/// Where it runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Model {
    Shared1,
    Shared4,
    Sharded4,
    Manual,
    Current,
}

/// One combination.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) transport: Transport,
    pub(crate) style: Style,
    pub(crate) model: Model,
}

/// A test of each named case in each cell, as `case::transport::style::model`.
macro_rules! in_every_cell {
    ($($case:ident),* $(,)?) => {$(
        mod $case {
            mod tcp { in_every_cell!(@styles $case, Tcp); }
            mod tcps { in_every_cell!(@styles $case, Tcps); }
            #[cfg(unix)]
            mod unix { in_every_cell!(@styles $case, Unix); }
        }
    )*};
    (@styles $case:ident, $transport:ident) => {
        mod callbacks { in_every_cell!(@models super::super::super::$case, $transport, Callbacks); }
        mod tasks { in_every_cell!(@models super::super::super::$case, $transport, Tasks); }
    };
    (@models $case:path, $transport:ident, $style:ident) => {
        in_every_cell!(@test shared_1, $case, $transport, $style, Shared1);
        in_every_cell!(@test shared_4, $case, $transport, $style, Shared4);
        in_every_cell!(@test sharded_4, $case, $transport, $style, Sharded4);
        in_every_cell!(@test manual, $case, $transport, $style, Manual);
        in_every_cell!(@test current, $case, $transport, $style, Current);
    };
    (@test $name:ident, $case:path, $transport:ident, $style:ident, $model:ident) => {
        #[test]
        fn $name() {
            $case($crate::harness::Cell {
                transport: $crate::harness::Transport::$transport,
                style: $crate::harness::Style::$style,
                model: $crate::harness::Model::$model,
            });
        }
    };
}

/// A test of each named case on each lane model and transport, for cases of one style only, as `case::transport::model`.
macro_rules! in_every_cell_of {
    ($style:ident: $($case:ident),* $(,)?) => {$(
        mod $case {
            mod tcp { in_every_cell!(@models super::super::$case, Tcp, $style); }
            mod tcps { in_every_cell!(@models super::super::$case, Tcps, $style); }
            #[cfg(unix)]
            mod unix { in_every_cell!(@models super::super::$case, Unix, $style); }
        }
    )*};
}

/// A test of each named case for each style and lane model over plain TCP, as `case::style::model`.
macro_rules! over_tcp {
    ($($case:ident),* $(,)?) => {$(
        mod $case {
            mod callbacks { in_every_cell!(@models super::super::$case, Tcp, Callbacks); }
            mod tasks { in_every_cell!(@models super::super::$case, Tcp, Tasks); }
        }
    )*};
}
