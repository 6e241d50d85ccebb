//! From records to pages: Markdown, and one HTML file that needs nothing else.
//!
//! A [`model::Model`] arranges verified records, [`sections`] says what is to be read in the order
//! of the original reports, and [`render`] sets the same sections as either kind of page.

pub mod figure;
pub mod format;
pub mod histogram;
pub mod model;
pub mod render;
pub mod sections;
pub mod svg;
pub mod table;
