package manifest

import (
	"encoding/json"
	"slices"
)

// ParseContext parses a manifest's context by itself. An *InvalidError has the pointers of the whole manifest.
func ParseContext(document []byte) (*Context, error) {
	const before = `{"manifestVersion":"1.0","role":"worker","strategy":"queue","tasks":[],"session":`
	var session Session
	session.setDefaults()
	described, err := json.Marshal(session)
	if err != nil {
		return nil, err
	}
	m, err := Parse(slices.Concat([]byte(before), described, []byte(`,"context":`), document, []byte("}")))
	if err != nil {
		return nil, err
	}
	return m.Context, nil
}
