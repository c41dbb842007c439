// Runs that the reader left, for as long as the tab is open: coming back brings them again, with their branches.

const NAME = "tokenwood.runs";
/** So many characters are kept. The oldest runs go first, then the oldest branches. */
const MOST = 200_000;

function read() {
  try {
    const list = JSON.parse(sessionStorage.getItem(NAME));
    return Array.isArray(list) ? list : [];
  } catch {
    // A browser may forbid storage, in a frame for example.
    return [];
  }
}

/** The run that was kept with this name, or (null) the one that was left last: {id, setting, steps, at, branches}. */
export const kept = (id) => read().find((it) => id === null || it.id === id) ?? null;

export function keep(id, { setting, steps, at, branches }) {
  const list = [{ id, setting, steps, at, branches: [...branches] }, ...read().filter((it) => it.id !== id)];
  const tooLong = () => JSON.stringify(list).length > MOST;
  while (list.length > 1 && tooLong()) list.pop();
  while (list[0].branches.length && tooLong()) list[0].branches.pop();
  try {
    sessionStorage.setItem(NAME, JSON.stringify(tooLong() ? [] : list));
  } catch {
    // Then the run is in its address only.
  }
}
