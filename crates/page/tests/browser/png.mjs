// Smaller pictures for the documentation.

import zlib from "node:zlib";

/** The same picture in fewer bytes: without transparency, with 256 colours, packed as well as possible. */
export function squeezed(png) {
  const [width, height, channels] = [png.readUInt32BE(16), png.readUInt32BE(20), png[25] === 6 ? 4 : 3];
  const parts = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) if (png.toString("latin1", at + 4, at + 8) === "IDAT") parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  const raw = zlib.inflateSync(Buffer.concat(parts));
  const wide = width * channels;
  const paeth = (a, b, c) => [a, b, c].reduce((best, it) => (Math.abs(a + b - c - it) < Math.abs(a + b - c - best) ? it : best));
  // What the filters of the browser left, undone.
  for (let y = 0; y < height; y += 1) {
    const [line, above] = [y * (wide + 1) + 1, (y - 1) * (wide + 1) + 1];
    for (let x = 0; x < wide; x += 1) {
      const left = x >= channels ? raw[line + x - channels] : 0;
      const up = y ? raw[above + x] : 0;
      const corner = y && x >= channels ? raw[above + x - channels] : 0;
      raw[line + x] += [0, left, up, (left + up) >> 1, paeth(left, up, corner)][raw[line - 1]];
    }
  }
  // The 256 colours that are used most; others, at the edges of letters, become the nearest of them: a pixel is one byte.
  const at = (x, y) => y * (wide + 1) + 1 + x * channels;
  const colour = (place) => raw.readUIntBE(place, 3);
  const used = new Map();
  for (let y = 0; y < height; y += 1) for (let x = 0; x < width; x += 1) used.set(colour(at(x, y)), (used.get(colour(at(x, y))) ?? 0) + 1);
  const colours = [...used].sort((a, b) => b[1] - a[1]).slice(0, 256).map(([it]) => it);
  const far = (a, b) => [16, 8, 0].reduce((sum, shift) => sum + (((a >> shift) & 255) - ((b >> shift) & 255)) ** 2, 0);
  const nearest = new Map([...used.keys()].map((it) => [it, colours.reduce((best, other, index) => (far(it, other) < far(it, colours[best]) ? index : best), 0)]));
  const pixels = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y += 1) for (let x = 0; x < width; x += 1) pixels[y * (width + 1) + 1 + x] = nearest.get(colour(at(x, y)));
  const chunk = (kind, data) => {
    const body = Buffer.concat([Buffer.from(kind, "latin1"), data]);
    const [size, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    size.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc(body));
    return Buffer.concat([size, body, sum]);
  };
  const head = Buffer.from(png.subarray(16, 29));
  [head[8], head[9]] = [8, 3];
  const palette = Buffer.from(colours.flatMap((key) => [key >> 16, (key >> 8) & 255, key & 255]));
  return Buffer.concat([png.subarray(0, 8), chunk("IHDR", head), chunk("PLTE", palette), chunk("IDAT", zlib.deflateSync(pixels, { level: 9 })), chunk("IEND", Buffer.alloc(0))]);
}

function crc(bytes) {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (0xedb88320 & -(sum & 1));
  }
  return ~sum >>> 0;
}
