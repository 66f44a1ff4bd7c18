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
	// Proof shows that the server knows the token that it was asked about; "" if it was asked about none.
	Proof string `json:"proof,omitempty"`
}

// AdminPart is the public part of the home's own user token, which holds nothing but its secret.
const AdminPart = "admin"

// PublicPart returns what names a token and does not show its secret, "" for what is no token.
func PublicPart(token string) string {
	switch parts := strings.Split(token, "."); {
	case len(parts) == 3:
		return parts[0] + "." + parts[1]
	case len(parts) == 1 && strings.HasPrefix(token, UserTokenPrefix):
		return AdminPart
	}
	return ""
}

// Prove answers a challenge with what only those who know the token can. Its label gives it a key of its own, so that
// no answer is a proof of anything but this.
func Prove(token, challenge string) string {
	return answerTo(token, "maestro server identity v1", challenge)
}

// Hold shows that who asks with a challenge of its own holds the token. It is worth nothing but not being slowed down:
// whoever saw it can show it again.
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
