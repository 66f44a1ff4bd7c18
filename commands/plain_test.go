package commands

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
)

// Bodies without escapes are read without encoding/json, and hold what it reads.
func TestPlainBodiesHoldWhatJSONSays(t *testing.T) {
	read := 0
	for _, body := range []string{
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
	} {
		var plain, said Report
		scanner, known := newScanner(t.Context(), []byte(body)), formOf(&plain)
		scanner.expect(known)
		scanner.scan()
		ok := scanner.fault == nil && scanner.readPlain(known, &plain)
		decoder := json.NewDecoder(strings.NewReader(body))
		decoder.DisallowUnknownFields()
		err := decoder.Decode(&said)
		if _, end := decoder.Token(); err == nil && !errors.Is(end, io.EOF) {
			err = errors.New("more follows")
		}
		if ok && (err != nil || !reflect.DeepEqual(plain, said)) {
			t.Errorf("%s is read as %+v, and JSON says %+v, %v", body, plain, said, err)
		}
		if ok {
			read++
		}
	}
	if read < 10 {
		t.Errorf("%d bodies were read without encoding/json", read)
	}
}
