package wire

// LimitView shows a limit with the value in effect.
type LimitView struct {
	Name  string  `json:"name"`
	Limit string  `json:"limit"`
	Value float64 `json:"value"`
	Burst float64 `json:"burst,omitempty"`
	// Refused counts the calls that exceeded it since the server started.
	Refused uint64 `json:"refused"`
	About   string `json:"about"`
}
