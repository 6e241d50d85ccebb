//! What a pipeline gives: tuples and lists.

use arknet_proto::redis::FromReply;

use super::Pipeline;
use crate::redis::{Answers, Command, Error};

/// The types of a pipeline's replies: a tuple of up to 16, or a `Vec`. It is implemented for nothing else.
pub trait Replies: Sized + sealed::Sealed {
    /// A `Result` for each.
    type Output: Send;

    #[doc(hidden)]
    fn take(pipeline: &Pipeline<Self>, answers: &mut Answers<'_>) -> Self::Output;

    #[doc(hidden)]
    fn lost(requests: usize, error: &Error) -> Self::Output;
}

mod sealed {
    /// Keeps [`Replies`](super::Replies) to tuples and lists.
    pub trait Sealed {}
}

impl<T> sealed::Sealed for Vec<T> {}

impl<T: FromReply + Send> Replies for Vec<T> {
    type Output = Vec<Result<T, Error>>;

    fn take(pipeline: &Pipeline<Self>, answers: &mut Answers<'_>) -> Self::Output {
        (0..pipeline.len())
            .map(|_| pipeline.decode(answers))
            .collect()
    }

    fn lost(requests: usize, error: &Error) -> Self::Output {
        (0..requests).map(|_| Err(error.clone())).collect()
    }
}

macro_rules! tuples {
    ($($($part:ident)+;)*) => {$(
        impl<$($part),+> sealed::Sealed for ($($part,)+) {}

        impl<$($part: FromReply + Send),+> Replies for ($($part,)+) {
            type Output = ($(Result<$part, Error>,)+);

            fn take(pipeline: &Pipeline<Self>, answers: &mut Answers<'_>) -> Self::Output {
                ($(pipeline.decode::<$part>(answers),)+)
            }

            fn lost(_: usize, error: &Error) -> Self::Output {
                ($(Err::<$part, Error>(error.clone()),)+)
            }
        }
    )*};
}

/// Every tuple but the longest has a next one.
macro_rules! growth {
    ($($($part:ident)*;)*) => {$(
        impl<$($part),*> Pipeline<($($part,)*)> {
            /// With one more command, and the type of its reply at the end of the tuple.
            #[inline]
            #[allow(clippy::should_implement_trait, reason = "no sum is meant")]
            pub fn add<Next: FromReply>(
                mut self,
                command: Command<Next>,
            ) -> Pipeline<($($part,)* Next,)> {
                self.append(&command);
                self.retyped()
            }
        }
    )*};
}

tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
    A B C D E F G H I;
    A B C D E F G H I J;
    A B C D E F G H I J K;
    A B C D E F G H I J K L;
    A B C D E F G H I J K L M;
    A B C D E F G H I J K L M N;
    A B C D E F G H I J K L M N O;
    A B C D E F G H I J K L M N O P;
}

growth! {
    ;
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
    A B C D E F G H I;
    A B C D E F G H I J;
    A B C D E F G H I J K;
    A B C D E F G H I J K L;
    A B C D E F G H I J K L M;
    A B C D E F G H I J K L M N;
    A B C D E F G H I J K L M N O;
}
