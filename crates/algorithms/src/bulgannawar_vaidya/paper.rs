//! Claims and examples of the thesis (001) and the paper (003).
