package wire

// Alive is the answer of /healthz, as long as the process lives.
type Alive struct {
	Status string `json:"status"`
}

// Ready is the answer of /readyz while the server accepts writes.
type Ready struct {
	Status   string    `json:"status"`
	Warnings []Warning `json:"warnings,omitempty"`
}

// Warning is something that an operator should know about a working server.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Next    string `json:"next"`
}
