package render

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

const refPrefix = "sha256:"

// Ref names a render: sha256: and 64 lower-case hex digits, the SHA-256 of exactly the bytes stored. The zero value names none.
type Ref struct{ digest string }

// RefOf computes the ref of an encoded render.
func RefOf(encoded []byte) Ref {
	sum := sha256.Sum256(encoded)
	return Ref{hex.EncodeToString(sum[:])}
}

// ParseRef reads a ref. It rejects everything but sha256: and 64 lower-case hex digits.
func ParseRef(s string) (Ref, error) {
	digest, ok := strings.CutPrefix(s, refPrefix)
	if !ok || len(digest) != 2*sha256.Size || strings.ToLower(digest) != digest {
		return Ref{}, fmt.Errorf("render ref %q: want %s and %d lower-case hex digits", s, refPrefix, 2*sha256.Size)
	}
	if _, err := hex.DecodeString(digest); err != nil {
		return Ref{}, fmt.Errorf("render ref %q: %w", s, err)
	}
	return Ref{digest}, nil
}

// String is the ref in full; empty for the zero value.
func (r Ref) String() string {
	if r.IsZero() {
		return ""
	}
	return refPrefix + r.digest
}

// Short is the first 12 hex digits, for people; empty for the zero value.
func (r Ref) Short() string { return r.digest[:min(len(r.digest), 12)] }

// IsZero says that the ref names no render.
func (r Ref) IsZero() bool { return r.digest == "" }
