//! The benchmark lab of arknet, as a library.
