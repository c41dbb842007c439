//! Tests of reports as a user gets them.

mod demo;
mod report;
mod rooms_and_growth;
mod texts;
