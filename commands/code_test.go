package commands

import "errors"

// code returns the code of a refusal; "" for another error or none.
func code(err error) Code {
	var refusal *Refusal
	if errors.As(err, &refusal) {
		return refusal.Code
	}
	return ""
}
