//! Internet addresses of sockets.

use libc::c_int;

/// An address and a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Address {
    /// An IPv4 address is mapped to one of IPv6.
    pub(super) ip: [u8; 16],
    pub(crate) port: u16,
}

const MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

/// The sizes of addresses in C.
const SIZE: usize = 16;
const SIZE_6: usize = 28;

impl Address {
    /// Reads an address in C's layout. Returns `None` if it is too short or of another family.
    pub(crate) fn read(bytes: &[u8]) -> Option<Address> {
        let family = u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?);
        let mut ip = [0; 16];
        match c_int::from(family) {
            libc::AF_INET if bytes.len() >= SIZE => {
                ip[..12].copy_from_slice(&MAPPED);
                ip[12..].copy_from_slice(&bytes[4..8]);
            }
            libc::AF_INET6 if bytes.len() >= SIZE_6 - 4 => ip.copy_from_slice(&bytes[8..24]),
            _ => return None,
        }
        Some(Address { ip, port: u16::from_be_bytes([bytes[2], bytes[3]]) })
    }

    /// Returns the address in C's layout, for a socket of `family`.
    pub(crate) fn bytes(&self, family: c_int) -> Vec<u8> {
        let [high, low] = self.port.to_be_bytes();
        let mut bytes = (family as u16).to_ne_bytes().to_vec();
        bytes.extend([high, low]);
        if family == libc::AF_INET {
            bytes.extend(&self.ip[12..]);
            bytes.resize(SIZE, 0);
        } else {
            bytes.extend([0; 4]);
            // The wildcard and the loopback address of IPv4 are written as such in IPv6 only if they are mapped.
            bytes.extend(self.ip);
            bytes.resize(SIZE_6, 0);
        }
        bytes
    }

    /// Returns the wildcard address of a family.
    pub(crate) fn any(family: c_int) -> Address {
        let mut ip = [0; 16];
        if family == libc::AF_INET {
            ip[..12].copy_from_slice(&MAPPED);
        }
        Address { ip, port: 0 }
    }

    fn is_mapped(&self) -> bool {
        self.ip[..12] == MAPPED
    }

    /// Returns true for the wildcard address.
    pub(crate) fn is_any(&self) -> bool {
        self.ip == [0; 16] || self.is_mapped() && self.ip[12..] == [0; 4]
    }

    /// Returns true for addresses of this machine that no other machine reaches.
    pub(crate) fn is_loopback(&self) -> bool {
        self.ip == 1_u128.to_be_bytes() || self.is_mapped() && self.ip[12] == 127
    }

    /// Returns the address that a connection to this one reaches: the wildcard address means this machine.
    pub(crate) fn target(mut self) -> Address {
        if self.is_any() {
            if self.is_mapped() {
                self.ip[12..].copy_from_slice(&[127, 0, 0, 1]);
            } else {
                self.ip = 1_u128.to_be_bytes();
            }
        }
        self
    }

    /// Returns true if a socket bound to this address receives what is sent to `target`.
    pub(crate) fn receives(&self, target: &Address) -> bool {
        self.port == target.port
            && (self.ip == target.ip || self.is_any() && (!self.is_mapped() || target.is_mapped()))
    }

    /// Returns true if two sockets cannot have these addresses at the same time.
    pub(crate) fn conflicts(&self, other: &Address) -> bool {
        self.port == other.port && (self.receives(other) || other.receives(self))
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let port = self.port;
        if self.is_mapped() {
            let [a, b, c, d] = [self.ip[12], self.ip[13], self.ip[14], self.ip[15]];
            write!(f, "{a}.{b}.{c}.{d}:{port}")
        } else {
            write!(f, "[{}]:{port}", std::net::Ipv6Addr::from(self.ip))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(ip: [u8; 4], port: u16) -> Address {
        let mut bytes = (libc::AF_INET as u16).to_ne_bytes().to_vec();
        bytes.extend(port.to_be_bytes());
        bytes.extend(ip);
        bytes.resize(SIZE, 0);
        Address::read(&bytes).unwrap()
    }

    #[test]
    fn survives_being_written_and_read() {
        let address = v4([127, 0, 0, 1], 7000);
        for family in [libc::AF_INET, libc::AF_INET6] {
            assert_eq!(Address::read(&address.bytes(family)), Some(address));
        }
        assert_eq!(address.to_string(), "127.0.0.1:7000");
        assert_eq!(Address::read(&address.bytes(libc::AF_INET)[..15]), None);
    }

    #[test]
    fn the_wildcard_address_receives_for_all_others() {
        let (any, one, other) = (v4([0; 4], 80), v4([127, 0, 0, 1], 80), v4([127, 0, 0, 2], 80));
        assert!(any.receives(&one) && any.conflicts(&one) && one.conflicts(&any));
        assert!(!one.receives(&other) && !one.receives(&v4([127, 0, 0, 1], 81)));
        assert_eq!(any.target(), one);
        let both = Address { port: 80, ..Address::any(libc::AF_INET6) };
        assert!(both.receives(&one) && !any.receives(&both.target()) && both.target().is_loopback());
    }
}
