package events

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// DigestPrefix is the prefix of every digest. The hash of the content follows, as 64 hexadecimal digits.
const DigestPrefix = "sha256-"

// Digest identifies content of a payload that is stored outside the log, in MAESTRO_BLOBS.
type Digest struct {
	// Field is the payload's field, such as "message" or "manifestDigest".
	Field string
	// Digest is "sha256-<64 hex>".
	Digest string
}

// Digests returns all content of the payload in MAESTRO_BLOBS, in the order of its fields. It finds them by the
// payload's type: each field of type [Blobs], and each text field whose JSON name is "digest" or ends in "Digest".
func Digests(data Data) []Digest {
	if report, ok := data.(*SessionReported); ok && report.Blobs == nil {
		return nil // true for nearly every event of a log
	}
	v := reflect.ValueOf(data)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return nil
	}
	var found []Digest
	for _, at := range digestFieldsOf(v.Type().Elem()) {
		found = at.read(found, v.Elem())
	}
	return found
}

// IsDigest reports whether a text has the form of a digest: DigestPrefix and 64 hexadecimal digits in lower case.
func IsDigest(text string) bool {
	digits, found := strings.CutPrefix(text, DigestPrefix)
	_, err := ParseHash(digits)
	return found && err == nil && strings.ToLower(digits) == digits
}

// MayNameDigest reports whether a stored body can name content at all. It is a quick check that avoids decoding.
func MayNameDigest(body []byte) bool { return bytes.Contains(body, []byte(DigestPrefix)) }

// digestField is the path to one field of a payload.
type digestField struct {
	path []int
	name string
}

var digestFields sync.Map // reflect.Type → []digestField

func digestFieldsOf(t reflect.Type) []digestField {
	if known, ok := digestFields.Load(t); ok {
		return known.([]digestField) //nolint:forcetypeassert,errcheck // nothing else is stored
	}
	fields := findDigestFields(nil, t, nil)
	digestFields.Store(t, fields)
	return fields
}

func findDigestFields(found []digestField, t reflect.Type, path []int) []digestField {
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		at := append(slices.Clone(path), i)
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case inner == reflect.TypeFor[Blobs](), inner.Kind() == reflect.String && isDigestName(name):
			found = append(found, digestField{at, name})
		case inner.Kind() == reflect.Struct:
			found = findDigestFields(found, inner, at)
		}
	}
	return found
}

func isDigestName(name string) bool { return name == "digest" || strings.HasSuffix(name, "Digest") }

func (f digestField) read(found []Digest, v reflect.Value) []Digest {
	for _, i := range f.path {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return found
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return found
		}
		v = v.Elem()
	}
	if blobs, ok := v.Interface().(Blobs); ok {
		for _, field := range slices.Sorted(maps.Keys(blobs)) {
			found = append(found, Digest{field, blobs[field]})
		}
		return found
	}
	if v.String() != "" {
		found = append(found, Digest{f.name, v.String()})
	}
	return found
}
