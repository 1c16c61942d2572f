//! Bytes that cross in one copy: uniffi writes and reads a `Vec<u8>` one byte at a time.

use bytes::{BufMut, Bytes};
use uniffi::{Lift, Lower, MetadataBuffer, RustBuffer, TypeId};

use crate::UniFfiTag;

/// For the languages, a `Vec<u8>`.
#[derive(Debug)]
pub struct WholeBytes(pub(crate) Bytes);

/// The length comes first.
const LENGTH_SIZE: usize = 4;

// SAFETY: the form is that of a `Vec<u8>`, whose type this declares.
unsafe impl Lower<UniFfiTag> for WholeBytes {
    type FfiType = RustBuffer;

    fn lower(bytes: Self) -> RustBuffer {
        Self::lower_into_rust_buffer(bytes)
    }

    fn write(Self(bytes): Self, buffer: &mut Vec<u8>) {
        // No language reads a negative length.
        buffer.put_i32(i32::try_from(bytes.len()).unwrap_or(-1));
        buffer.extend_from_slice(&bytes);
    }
}

// SAFETY: as above.
unsafe impl Lift<UniFfiTag> for WholeBytes {
    type FfiType = RustBuffer;

    /// Takes over the buffer instead of copying it.
    fn try_lift(buffer: RustBuffer) -> uniffi::Result<Self> {
        let mut bytes = Bytes::from(buffer.destroy_into_vec());
        let mut head = &bytes[..];
        let length = length_of(&mut head)?;
        uniffi::deps::anyhow::ensure!(head.len() == length, "{} bytes were announced, not {}", length, head.len());
        Ok(Self(bytes.split_off(LENGTH_SIZE)))
    }

    fn try_read(buffer: &mut &[u8]) -> uniffi::Result<Self> {
        let length = length_of(buffer)?;
        uniffi::check_remaining(buffer, length)?;
        let (bytes, rest) = buffer.split_at(length);
        *buffer = rest;
        Ok(Self(Bytes::copy_from_slice(bytes)))
    }
}

fn length_of(buffer: &mut &[u8]) -> uniffi::Result<usize> {
    Ok(usize::try_from(<i32 as Lift<UniFfiTag>>::try_read(buffer)?)?)
}

impl TypeId<UniFfiTag> for WholeBytes {
    const TYPE_ID_META: MetadataBuffer = <Vec<u8> as TypeId<UniFfiTag>>::TYPE_ID_META;
}
