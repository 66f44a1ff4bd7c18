package events

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Hash is a SHA-256 sum; as text, 64 lower-case hexadecimal digits. The zero Hash is that of the empty log.
type Hash [sha256.Size]byte

// String returns the 64 hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// IsZero reports whether h is the hash of the empty log.
func (h Hash) IsZero() bool { return h == Hash{} }

// MarshalText returns the 64 hexadecimal digits.
func (h Hash) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

// UnmarshalText parses the 64 hexadecimal digits.
func (h *Hash) UnmarshalText(text []byte) error {
	parsed, err := ParseHash(string(text))
	if err != nil {
		return err
	}
	*h = parsed
	return nil
}

// ParseHash parses the 64 hexadecimal digits of a hash.
func ParseHash(text string) (Hash, error) {
	var h Hash
	if len(text) != hex.EncodedLen(len(h)) {
		return Hash{}, fmt.Errorf("a hash has %d hexadecimal digits, this has %d characters", hex.EncodedLen(len(h)),
			len(text))
	}
	if _, err := hex.Decode(h[:], []byte(text)); err != nil {
		return Hash{}, fmt.Errorf("a hash is written in hexadecimal digits: %w", err)
	}
	return h, nil
}

// BodyHash is the SHA-256 of one message's body.
func BodyHash(body []byte) Hash { return sha256.Sum256(body) }

// Next returns the chain's hash after a message: SHA-256(prevhash ‖ SHA-256(body)). It is the prevhash of the following
// event. So a body can be withheld and replaced by its hash, and the chain still verifies.
func Next(prev, body Hash) Hash {
	var both [2 * sha256.Size]byte
	copy(both[:sha256.Size], prev[:])
	copy(both[sha256.Size:], body[:])
	return sha256.Sum256(both[:])
}
