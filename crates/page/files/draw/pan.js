// A window of time under the pointer: a drag moves it, a wheel or two fingers zoom it, a click chooses a moment. The diagrams of
// runs and of recordings share it.

/** Fingers that are so much farther apart, or closer, zoom by one. */
const PINCH = 1.3;

/**
 * `window` has begin() -> [where the window begins, pixels for one unit of time], pan(to), zoom(by, x) and click(x, event), with x in
 * pixels from the left edge of the element. `drags` is what one drags, `wheels` where a wheel zooms: with Ctrl, as a touchpad's pinch.
 */
export function pans(drags, wheels, { begin, pan, zoom, click }) {
  const fingers = new Map();
  const left = () => drags.getBoundingClientRect().left;
  let [from, apart] = [null, 0];
  const spread = () => {
    const [one, other] = fingers.values();
    return Math.hypot(one.x - other.x, one.y - other.y);
  };
  const down = (event) => {
    if (event.button !== 0 || event.target.closest("button, [role=button]")) return;
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    drags.setPointerCapture(event.pointerId);
    const [lo, step] = begin();
    if (fingers.size === 1) from = { x: event.clientX, lo, step, far: false };
    // Two fingers zoom: neither chooses a moment nor drags.
    else [from, apart] = [null, spread()];
  };
  const move = (event) => {
    const finger = fingers.get(event.pointerId);
    if (!finger) return;
    [finger.x, finger.y] = [event.clientX, event.clientY];
    if (from) {
      from.far ||= Math.abs(event.clientX - from.x) > 5;
      if (from.far) pan(from.lo - (event.clientX - from.x) / from.step);
    } else if (fingers.size > 1) {
      const [now, [one, other]] = [spread(), fingers.values()];
      if (now < apart * PINCH && now * PINCH > apart) return;
      zoom(now > apart ? 1 : -1, (one.x + other.x) / 2 - left());
      apart = now;
    }
  };
  const up = (event) => {
    if (!fingers.delete(event.pointerId)) return;
    if (from && !from.far && event.type === "pointerup") click(event.clientX - left(), event);
    from = null;
  };
  for (const [name, call] of Object.entries({ pointerdown: down, pointermove: move, pointerup: up, pointercancel: up })) drags.addEventListener(name, call);
  wheels.addEventListener("wheel", (event) => {
    const aside = event.shiftKey ? event.deltaY || event.deltaX : Math.abs(event.deltaX) > Math.abs(event.deltaY) ? event.deltaX : 0;
    if (!event.ctrlKey && !aside) return;
    event.preventDefault();
    const [lo, step] = begin();
    if (event.ctrlKey) zoom(-event.deltaY / 100, event.clientX - left());
    else pan(lo + aside / step);
  }, { passive: false });
}
