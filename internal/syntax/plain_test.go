package syntax

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"
)

func ignore[T any](_ T, err error) error { return err }

// Each error comes from the library itself, so that a new wording in a later version is noticed.
func TestPlainWords(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, writeErr := w.Write(bytes.Repeat([]byte("some text "), 99))
	if err := errors.Join(writeErr, w.Close()); err != nil {
		t.Fatal(err)
	}
	unpack := func(edit func(b []byte) []byte) error {
		r, err := gzip.NewReader(bytes.NewReader(edit(bytes.Clone(packed.Bytes()))))
		if err != nil {
			return err
		}
		return ignore(io.Copy(io.Discard, r))
	}
	decode := func(text string) error {
		var into struct {
			Text  string   `json:"text"`
			Flag  bool     `json:"flag"`
			Count uint64   `json:"count"`
			Delta int      `json:"delta"`
			Share float64  `json:"share"`
			List  []string `json:"list"`
			Raw   []byte   `json:"raw"`
			Deep  struct {
				Flag *bool `json:"flag"`
			} `json:"deep"`
		}
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.DisallowUnknownFields()
		return decoder.Decode(&into)
	}
	lines := bufio.NewScanner(strings.NewReader(strings.Repeat("x", 1<<20)))
	if lines.Scan() {
		t.Error("the line fits")
	}
	own := errors.New("the disk is gone")
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{own, "the disk is gone"},
		{lines.Err(), "a line is longer than Maestro writes one"},
		{decode(`{"text":`), "it is cut short"},
		{json.Unmarshal([]byte(`{"text":`), new(any)), "it is cut short"},
		{json.Unmarshal([]byte(``), new(any)), "it is cut short"},
		{decode(``), "it is cut short"},
		{decode(`{"text":}`), "it stops being JSON at byte 9"},
		{decode(`nope`), "it stops being JSON at byte 2"},
		{decode(`{"tixt":1}`), `there is no field "tixt"`},
		{decode(`[]`), "it is a list, and must be an object"},
		{decode(`{"text":1}`), `the field "text" is a number, and must be a text`},
		{decode(`{"text":{}}`), `the field "text" is an object, and must be a text`},
		{decode(`{"flag":"x"}`), `the field "flag" is a text, and must be true or false`},
		{decode(`{"deep":{"flag":3}}`), `the field "deep.flag" is a number, and must be true or false`},
		{decode(`{"count":-1}`), `the field "count" is a number -1, and must be a whole number from 0 on that fits`},
		{decode(`{"delta":1.5}`), `the field "delta" is a number 1.5, and must be a whole number that fits`},
		{decode(`{"share":true}`), `the field "share" is true or false, and must be a number`},
		{decode(`{"list":true}`), `the field "list" is true or false, and must be a list`},
		{decode(`{"raw":5}`), `the field "raw" is a number, and must be a text`},
		{decode(`{"raw":"!!"}`), "its base64 is wrong at byte 0"},
		{
			unpack(func([]byte) []byte { return []byte("hello, this is no archive") }),
			"it does not begin like a compressed file",
		},
		{unpack(func(b []byte) []byte { return b[:len(b)-9] }), "it is cut short"},
		{
			unpack(func(b []byte) []byte { b[len(b)-6] ^= 1; return b }),
			"its content does not have the checksum at its end",
		},
		{unpack(func(b []byte) []byte { b[10] = 0xff; return b }), "what is compressed is damaged before byte 1"},
		{
			ignore(tar.NewReader(bytes.NewReader(bytes.Repeat([]byte("x"), 1024))).Next()),
			"the header of an entry in the archive is damaged",
		},
		{ignore(base64.StdEncoding.DecodeString("ab!!")), "its base64 is wrong at byte 2"},
		{ignore(hex.DecodeString("zz")), "'z' is not a hexadecimal digit"},
		{ignore(hex.DecodeString("abc")), "its hexadecimal digits come in an odd number"},
		{ignore(strconv.ParseInt("x", 10, 64)), `"x" is no number`},
		{
			ignore(strconv.ParseInt(strings.Repeat("9", 30), 10, 64)),
			`the number "999999999999999999999999999999" is out of range`,
		},
		{ignore(time.Parse(time.RFC3339, "today")), `"today" is not a time such as 2006-01-02T15:04:05Z`},
		{fmt.Errorf("behind it: %w", io.ErrUnexpectedEOF), "it is cut short"},
	} {
		got := Plain(c.err)
		if text := fmt.Sprint(got); text != c.want && (c.err != nil || got != nil) {
			t.Errorf("%v is %q, expected %q", c.err, text, c.want)
		}
		if !errors.Is(got, c.err) || fmt.Sprint(Plain(got)) != fmt.Sprint(got) {
			t.Errorf("%v is not what %v comes from", c.err, got)
		}
	}
}
