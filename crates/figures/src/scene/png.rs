//! A drawing as PNG. The format needs only a few headers around compressed rows, so it is written here.

use miniz_oxide::deflate::compress_to_vec_zlib;

use super::{Scene, raster};

/// The usual compromise between speed and size.
const COMPRESSION: u8 = 6;
/// Each byte is stored as the difference from the one above it: most of a chart equals the row above.
const FILTER_UP: u8 = 2;

/// The whole file.
pub(crate) fn write(scene: &Scene) -> Vec<u8> {
    let picture = raster::paint(scene);
    let row = picture.width * 3;
    let mut filtered = Vec::with_capacity(picture.bytes.len() + picture.height);
    let mut above = vec![0; row];
    for line in picture.bytes.chunks_exact(row) {
        filtered.push(FILTER_UP);
        filtered.extend(line.iter().zip(&above).map(|(byte, above)| byte.wrapping_sub(*above)));
        above.copy_from_slice(line);
    }
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut header = Vec::new();
    header.extend((picture.width as u32).to_be_bytes());
    header.extend((picture.height as u32).to_be_bytes());
    // Eight bits each of red, green and blue; the usual compression and filters; not interlaced.
    header.extend([8, 2, 0, 0, 0]);
    chunk(&mut file, *b"IHDR", &header);
    chunk(&mut file, *b"IDAT", &compress_to_vec_zlib(&filtered, COMPRESSION));
    chunk(&mut file, *b"IEND", &[]);
    file
}

fn chunk(file: &mut Vec<u8>, kind: [u8; 4], content: &[u8]) {
    file.extend((content.len() as u32).to_be_bytes());
    let begin = file.len();
    file.extend(kind);
    file.extend(content);
    let sum = checksum(&file[begin..]);
    file.extend(sum.to_be_bytes());
}

/// CRC-32, as PNG asks for it.
fn checksum(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ 0xEDB8_8320 } else { sum >> 1 };
        }
    }
    !sum
}

#[cfg(test)]
mod tests {
    use super::checksum;

    #[test]
    fn the_checksum_is_the_usual_one() {
        assert_eq!(checksum(b"123456789"), 0xCBF4_3926);
        // The end of every PNG file.
        assert_eq!(checksum(b"IEND"), 0xAE42_6082);
    }
}
