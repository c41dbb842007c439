//! Tests of the service from outside, in one binary: ten would each be linked, and run one after the other.

mod bounds;
mod cluster;
mod events;
mod fences;
mod leaving;
mod member;
mod paging;
mod pointers;
mod repeats;
mod resizing;
mod revoking;
mod rights;
mod session_keys;
mod vouching;
mod wire_page;
