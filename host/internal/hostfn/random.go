package hostfn

// Attack: a guest's keys, nonces and identifiers are guessed because every run
// gets the same "random" bytes without anyone having asked for that.

import (
	cryptorand "crypto/rand"
	"encoding/binary"
	"io"
	"math/rand/v2"

	"github.com/wagent-dev/wagent/host/policy"
)

// NewRandom returns the random bytes of one call: the system's cryptographic
// source, or for a seed a stream that is the same each time. A seeded reader is
// not safe for concurrent use. Neither ever fails.
func NewRandom(r policy.Random) io.Reader {
	if !r.Seeded {
		return cryptorand.Reader
	}
	var seed [32]byte
	copy(seed[:], "wagent random stream, 1\x00")
	binary.LittleEndian.PutUint64(seed[24:], r.Seed)
	return rand.NewChaCha8(seed)
}
