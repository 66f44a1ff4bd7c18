package commands

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// plainBodies are well-formed and malformed bodies of reports.
var plainBodies = []string{
	`{}`, ` {"message":"m"}`, `{"message":"m"}`, `{"message":"m","taskIds":["a","b"]}`, `{"message":"ä€😀"}`,
	"{ \"message\" : \"m\" ,\n\t\"taskIds\" : [ \"a\" , \"b\" ] } \n", `{"taskIds":[]}`, `{"taskIds":[ ]}`,
	`{"message":""}`, `{"taskIds":[""]}`, `{"project":"p","message":"m","options":["o"]}`,
	`{"message":null}`, `{"taskIds":null}`, `{"taskIds":[null]}`, `{"message":7}`, `{"taskIds":"a"}`,
	`{"taskIds":[7]}`,
	`{"taskIds":[["a"]]}`, `{"taskIds":[{}]}`, `{"message":["m"]}`, `{"message":"a\nb"}`, `{"message":"a\\b"}`,
	`{"message":"\u0041"}`, `{"taskIds":["\u0041"]}`, "{\"message\":\"a\nb\"}", "{\"taskIds\":[\"a\tb\"]}",
	`{"message":"m"`, `{"message":"m",}`, `{"message":"m"}}`, `{"message":"m"} {}`, `{"message":"m"}x`,
	`{"message"}`, `{"message":}`, `{"taskIds":["a",]}`, `{"taskIds":["a" "b"]}`, `{"taskIds":["a"}`,
	`{"taskIds":[,"a"]}`, `{"taskIds":["a",,"b"]}`, `{"taskIds":["a"],"taskIds":["b"]}`, `{"Message":"m"}`,
	`{"message":"m","kind":"complete"}`, `{"message":tru}`, `[]`, `""`, `null`, ``,
}

// Bodies without escapes are read without encoding/json, with the same result.
func TestPlainBodiesHoldWhatJSONSays(t *testing.T) {
	read := 0
	for _, body := range plainBodies {
		if readsAsJSON(t, body) {
			read++
		}
	}
	if read < 10 {
		t.Errorf("%d bodies were read without encoding/json", read)
	}
}

func FuzzPlainBodies(f *testing.F) {
	for _, body := range plainBodies {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if utf8.ValidString(body) { // other bodies are refused before they are scanned
			readsAsJSON(t, body)
		}
	})
}

// readsAsJSON reports whether a body is read without encoding/json, and compares the result with that of encoding/json.
func readsAsJSON(t *testing.T, body string) bool {
	t.Helper()
	var plain, said Report
	scanner, known := newScanner(t.Context(), []byte(body)), formOf(&plain)
	scanner.expect(known)
	scanner.scan()
	if scanner.fault != nil || scanner.stop != nil || !scanner.readPlain(known, &plain) {
		return false
	}
	decoder := json.NewDecoder(strings.NewReader(body))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&said)
	if _, end := decoder.Token(); err == nil && !errors.Is(end, io.EOF) {
		err = errors.New("more follows")
	}
	if err != nil || !reflect.DeepEqual(plain, said) {
		t.Errorf("%q is read as %+v, by encoding/json as %+v, %v", body, plain, said, err)
	}
	return true
}
