package manifest

import "slices"

// ParseContext reads what may stand in a manifest's context, alone. An *InvalidError has the pointers of the manifest
// that it would be part of.
func ParseContext(document []byte) (*Context, error) {
	const before = `{"manifestVersion":"1.0","role":"worker","strategy":"queue","tasks":[],` +
		`"session":{"model":"sonnet","permissionMode":"acceptEdits"},"context":`
	m, err := Parse(slices.Concat([]byte(before), document, []byte("}")))
	if err != nil {
		return nil, err
	}
	return m.Context, nil
}
