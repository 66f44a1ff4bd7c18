package events

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var digestPattern = regexp.MustCompile(`sha256-[0-9a-f]{64}`)

// Whatever looks like a digest in a sample, which has every field set, is found.
func TestDigestsOfEverySample(t *testing.T) {
	named := 0
	for _, data := range samples {
		text, err := AppendData(nil, data)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range Digests(data) {
			if d.Field == "" {
				t.Errorf("%s names %s without its field", data.EventType(), d.Digest)
			}
			got = append(got, d.Digest)
		}
		want := digestPattern.FindAllString(string(text), -1)
		if !slices.Equal(got, want) {
			t.Errorf("%s names %d digests, found %d", data.EventType(), len(want), len(got))
		}
		if (len(want) > 0) != MayNameDigest(text) {
			t.Errorf("%s: MayNameDigest is %t", data.EventType(), MayNameDigest(text))
		}
		named += len(want)
	}
	if named < 8 {
		t.Fatalf("the samples contain only %d digests", named)
	}
}

// A field of a payload that is documented as a digest is found by its name or its type, in any event type of the
// catalogue.
func TestDigestFieldsAreRecognised(t *testing.T) {
	for _, entry := range Catalogue() {
		checkDigestFields(t, entry.Type, reflect.TypeOf(entry.New()).Elem())
	}
}

func checkDigestFields(t *testing.T, where string, structure reflect.Type) {
	t.Helper()
	for i := range structure.NumField() {
		field := structure.Field(i)
		inner := field.Type
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		says := strings.Contains(strings.ToLower(field.Tag.Get("doc")), "digest")
		known := field.Type == reflect.TypeFor[Blobs]() || isDigestName(name)
		if says && !known {
			t.Errorf(
				"%s.%s is a digest by its documentation: end its JSON name in Digest, or give it the type Blobs",
				where, field.Name,
			)
		}
		if known && inner != field.Type && field.Type.Kind() == reflect.Slice {
			t.Errorf("%s.%s is a list of digests, which Digests does not read", where, field.Name)
		}
		if inner.Kind() == reflect.Struct && inner.PkgPath() == structure.PkgPath() {
			if field.Type.Kind() == reflect.Slice && len(findDigestFields(nil, inner, nil)) > 0 {
				t.Errorf("%s.%s is a list that names digests, which Digests does not read", where, field.Name)
			}
			checkDigestFields(t, where+"."+field.Name, inner)
		}
	}
}

// A digest has one form only.
func TestIsDigest(t *testing.T) {
	digits := strings.Repeat("0a", 32)
	for text, want := range map[string]bool{
		DigestPrefix + digits:                  true,
		digits:                                 false,
		"":                                     false,
		DigestPrefix + strings.ToUpper(digits): false,
		DigestPrefix + digits[:62]:             false,
		DigestPrefix + digits + "00":           false,
		DigestPrefix + digits[:62] + "0g":      false,
		"sha512-" + digits:                     false,
	} {
		if IsDigest(text) != want {
			t.Errorf("IsDigest(%q) is not %t", text, want)
		}
	}
}
