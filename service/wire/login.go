package wire

import "maestro/events"

// LoginCodePrefix begins every code for a login.
const LoginCodePrefix = "mlc_"

// LoginCode is a single-use code with which a browser logs in.
type LoginCode struct {
	Code      string        `json:"code"`
	ExpiresAt events.Millis `json:"expiresAt"`
}

// Login is a browser that has logged in; never its secret.
type Login struct {
	ID string `json:"id"`
	// Token is the name of the token that it acts with, Address where it logged in from.
	Token   string        `json:"token"`
	Address string        `json:"address"`
	Since   events.Millis `json:"since"`
	Until   events.Millis `json:"until"`
}

// EndedLogin is a login that was ended.
type EndedLogin struct {
	ID string `json:"id"`
}
