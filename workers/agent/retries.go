package agent

import "fmt"

// retryReader numbers the attempts of a CLI that only says that the model's API has failed, and gives each a reason.
type retryReader struct {
	Reader

	// failed counts the failures since the agent was last heard.
	failed int
}

// Read implements Reader.
func (r *retryReader) Read(line []byte) []Observation {
	all := r.Reader.Read(line)
	for i, one := range all {
		retrying, ok := one.(Retrying)
		if !ok {
			r.failed = 0
			continue
		}
		r.failed++
		if retrying.Attempt == 0 {
			retrying.Attempt = r.failed
		}
		switch {
		case retrying.Reason == "" && retrying.Status == 0:
			retrying.Reason = "no reason given"
		case retrying.Reason == "":
			retrying.Reason = fmt.Sprintf("HTTP status %d", retrying.Status)
		}
		all[i] = retrying
	}
	return all
}
