package bloomredis

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/seed79a3ff49/bloom"
)

// A script that adds keys has one more key, the last, where its caller gave a
// token: for five minutes it holds what the script answered. It is the script's
// first write, so that nothing has changed where it is refused.
const rememberFor = `'PX', 300000`

// tokenOf returns what is the same for calls with the same token and keys only.
func tokenOf(token string, hs []bloom.Hash) (string, error) {
	if token == "" {
		return "", errors.New("bloomredis: token is empty")
	}
	b := binary.BigEndian.AppendUint64(nil, uint64(len(hs))) // first, or a token could go on with keys
	for _, h := range hs {
		h1, h2 := h.Words()
		b = binary.BigEndian.AppendUint64(b, h1)
		b = binary.BigEndian.AppendUint64(b, h2)
	}
	sum := sha256.Sum256(append(b, token...)) // others may choose tokens
	return fmt.Sprintf("%x", sum[:16]), nil
}

// addToken gives c, a part of a caller's call, the key for its answers, if there is a
// token.
func (f caller) addToken(c *call, token string, part int) error {
	if token == "" {
		return nil
	}
	name, err := f.beside(fmt.Sprintf("once-%s-%d", token, part))
	c.keys = append(c.keys, name)
	return err
}
