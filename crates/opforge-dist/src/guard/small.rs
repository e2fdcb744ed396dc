//! Calls whose data travels in the records: when all have come, the call is done.

use opforge_core::{DeviceLocation, Result};

use super::record::{PAYLOAD, Record};
use crate::Buffer;
use crate::engine::{Call, Collective, reduce};

/// What a rank puts into its records, if the call's data fits. Ranks that agree on the call agree on that.
pub(super) fn payload(call: &Call, rank: usize) -> Result<Option<&[u8]>> {
    if [&call.send, &call.recv].iter().any(|buffer| buffer.location() != DeviceLocation::Cpu) {
        return Ok(None);
    }
    let size = call.dtype.size_in_bytes();
    let all_fit = |counts: &[usize]| counts.iter().all(|count| count * size <= PAYLOAD);
    Ok(match &call.collective {
        Collective::AllReduce(_) if call.recv.len() <= PAYLOAD => Some(call.recv.bytes()?),
        Collective::ReduceScatter { .. } if call.send.len() <= PAYLOAD => Some(call.send.bytes()?),
        Collective::AllGather { counts } if all_fit(counts) => Some(call.send.bytes()?),
        Collective::Broadcast { root } if call.recv.len() <= PAYLOAD => {
            Some(if *root == rank { call.recv.bytes()? } else { &[] })
        }
        Collective::Barrier => Some(&[]),
        _ => None,
    })
}

/// The call's result; `records` are in the order of ranks, without this one's.
pub(super) fn finish(mut call: Call, rank: usize, records: &[Option<Record>]) -> Result<Buffer> {
    let of = |other: usize| -> Result<&[u8]> {
        records[other].as_ref().map_or(Ok(&[][..]), |record| Ok(record.fields()?.payload))
    };
    let size = call.dtype.size_in_bytes();
    match &call.collective {
        Collective::AllReduce(op) => {
            let ranks = (0..records.len()).map(|other| Ok((other != rank).then_some(of(other)?)));
            reduce(call.dtype, *op, &ranks.collect::<Result<Vec<_>>>()?, call.recv.bytes_mut()?)?;
        }
        Collective::ReduceScatter { op, counts } => {
            let start: usize = counts[..rank].iter().sum();
            let part = start * size..(start + counts[rank]) * size;
            let own = call.send.bytes()?;
            let ranks =
                (0..records.len()).map(|other| Ok(Some(&if other == rank { own } else { of(other)? }[part.clone()])));
            reduce(call.dtype, *op, &ranks.collect::<Result<Vec<_>>>()?, call.recv.bytes_mut()?)?;
        }
        Collective::AllGather { counts } => {
            let mut rest = call.recv.bytes_mut()?;
            for (other, count) in counts.iter().enumerate() {
                let (part, after) = rest.split_at_mut(count * size);
                part.copy_from_slice(if other == rank { call.send.bytes()? } else { of(other)? });
                rest = after;
            }
        }
        Collective::Broadcast { root } if *root != rank => call.recv.bytes_mut()?.copy_from_slice(of(*root)?),
        _ => {}
    }
    Ok(call.recv)
}
