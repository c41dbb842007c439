//! What a page relies on: runs replay to the same states, everything that is offered is possible, nothing that is sent
//! breaks the player.

mod gallery;
mod hostile;
mod page;
mod pictures;
mod runs;
mod searches;
mod sharing;
mod stories;
