package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// IdentityPath is the route at which a server identifies itself. It needs no credential.
const IdentityPath = "/identity"

// Product is how a server identifies itself.
const Product = "maestro"

// Identity is a server's answer to a request to identify itself.
type Identity struct {
	Product string `json:"product"`
	Version string `json:"version"`
	// Proof shows that the server knows the token that the request named; "" if it named none.
	Proof string `json:"proof,omitempty"`
}

// AdminPart is the public part of the home's own user token, which consists of nothing but its secret.
const AdminPart = "admin"

// PublicPart returns the part of a token that names it without revealing its secret, "" if token is none.
func PublicPart(token string) string {
	switch parts := strings.Split(token, "."); {
	case len(parts) == 3:
		return parts[0] + "." + parts[1]
	case len(parts) == 1 && strings.HasPrefix(token, UserTokenPrefix):
		return AdminPart
	}
	return ""
}

// Prove answers a challenge in a way that requires knowing the token. The label gives it a key of its own, so that an
// answer proves nothing else.
func Prove(token, challenge string) string {
	return answerTo(token, "maestro server identity v1", challenge)
}

// Hold shows that the sender of a challenge holds the token. It only spares the sender the delay: whoever saw it can
// replay it.
func Hold(token, challenge string) string {
	return answerTo(token, "maestro credential holder v1", challenge)
}

func answerTo(token, label, challenge string) string {
	key := hmac.New(sha256.New, []byte(token))
	_, _ = key.Write([]byte(label)) // a hash never fails to write
	mac := hmac.New(sha256.New, key.Sum(nil))
	_, _ = mac.Write([]byte(challenge))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
