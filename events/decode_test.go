package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// FuzzDecode: whatever the fast decoder accepts, the SDK's decoder accepts too, with the same result.
func FuzzDecode(f *testing.F) {
	for _, data := range samples {
		f.Add(readGolden(f, goldenPath(data.EventType())))
	}
	bare := &Event{Source: "/system", Time: time.Unix(1, 0).UTC(), Data: &SessionReported{
		SessionID: "s",
		Kind:      ReportProgress,
		Message:   "m",
		TaskIDs:   []string{"t"},
	}}
	body, err := bare.Append(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body)
	f.Fuzz(func(t *testing.T, body []byte) {
		var fast Event
		if err := new(Decoder).fast(body, &fast); err != nil {
			return
		}
		slow, err := decodeWithSDK(body)
		if err != nil {
			t.Fatalf("the fast decoder accepts what the SDK refuses: %v\n%s", err, body)
		}
		if !reflect.DeepEqual(&fast, slow) {
			t.Fatalf("fast %+v\n%+v\nSDK  %+v\n%+v\n%s", fast, fast.Data, *slow, slow.Data, body)
		}
	})
}

// bodyWith returns the body of a small event after a change to its text.
func bodyWith(t *testing.T, was, is string) []byte {
	t.Helper()
	body, err := sampleEvent(&ProjectDeleted{ProjectID: "proj_1"}).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(body, []byte(was)) {
		t.Fatalf("the body has no %s:\n%s", was, body)
	}
	return bytes.ReplaceAll(body, []byte(was), []byte(is))
}

func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct{ name, was, is, says string }{
		{"unknown type", "maestro.project.deleted.v1", "maestro.project.painted.v1", "is unknown to this version"},
		{
			"newer version", "maestro.project.deleted.v1", "maestro.project.deleted.v2",
			`knows "maestro.project.deleted.v1"`,
		},
		{"another's type", "maestro.project.deleted.v1", "com.example.thing", "is unknown to this version"},
		{"subject of another", `"subject":"project/proj_1"`, `"subject":"project/proj_2"`, "has subject"},
		{"no source", `"source":"/projects/proj_1/sessions/sess_0"`, `"source":""`, "uri ref"},
		{"source that is no URI", `"source":"/projects/proj_1/sessions/sess_0"`, `"source":"%zz"`, ""},
		{"no time", `"time":"2026-03-01T12:30:45.123Z",`, ``, "no time"},
		{"zero time", `"time":"2026-03-01T12:30:45.123Z"`, `"time":"0001-01-01T00:00:00.000Z"`, "no time"},
		{"broken time", `"time":"2026-03-01`, `"time":"2026-13-01`, ""},
		{"30 February", `"time":"2026-03-01`, `"time":"2026-02-30`, ""},
		{"broken id", `"id":"0f7e1c9a`, `"id":"0f7e1c9z`, "id of an event"},
		{"short hash", `"prevhash":"`, `"prevhash":"00`, "prevhash"},
		{"odd request hash", `"requesthash":"01`, `"requesthash":"1`, "requesthash"},
		{"hash that is a number", `"rules":"1"`, `"rules":1`, "not a string"},
		{
			"data that is a list", `"data":{"projectId":"proj_1"}`, `"data":["proj_1"]`,
			"data of maestro.project.deleted.v1",
		},
		{"null data", `"data":{"projectId":"proj_1"}`, `"data":null`, ""},
		{"no data", `,"data":{"projectId":"proj_1"}`, ``, ""},
		{"cut", `"proj_1"}}`, `"proj_1"`, ""},
		{"more behind it", `"proj_1"}}`, `"proj_1"}}{}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			event, err := Decode(bodyWith(t, c.was, c.is))
			if err == nil {
				t.Fatalf("decoded to %+v", event)
			}
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("the error is %q, want one with %q", err, c.says)
			}
		})
	}
	for _, body := range []string{"", "{}", "null", "[]", "x", `{"specversion":"1.0"}`} {
		if event, err := Decode([]byte(body)); err == nil {
			t.Errorf("%q decoded to %+v", body, event)
		}
	}
}

func TestUnknownTypeIsNamed(t *testing.T) {
	for is, want := range map[string]string{
		"maestro.task.painted.v1": `event type "maestro.task.painted.v1" is unknown to this version of ` +
			`maestro; use a newer maestro`,
		"maestro.task.created.v7": `event type "maestro.task.created.v7" is newer than this version of maestro, ` +
			`which knows "maestro.task.created.v1"; use a newer maestro`,
	} {
		// Once in our own shape and once in another, for the two decoders.
		for _, from := range []string{`{"specversion"`, `{ "specversion"`} {
			body := bytes.Replace(bodyWith(t, "maestro.project.deleted.v1", is), []byte(`{"specversion"`), []byte(from),
				1)
			_, err := Decode(body)
			var unknown *UnknownTypeError
			if !errors.As(err, &unknown) || unknown.Type != is || err.Error() != want {
				t.Errorf("%s: got %v, want %s", is, err, want)
			}
			if unknown.PrevHash == (Hash{}) || !bytes.Contains(body, []byte(unknown.PrevHash.String())) {
				t.Errorf("%s: it follows %s in %s", is, unknown.PrevHash, body)
			}
		}
	}
}

// The same event in any valid CloudEvents JSON, as other programs write it, is read too.
func TestDecodeOtherShapes(t *testing.T) {
	for _, data := range samples {
		golden := readGolden(t, goldenPath(data.EventType()))
		var members map[string]json.RawMessage
		if err := json.Unmarshal(golden, &members); err != nil {
			t.Fatal(err)
		}
		reordered, err := json.MarshalIndent(members, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		event, err := Decode(reordered)
		if err != nil {
			t.Fatalf("%s: %v", data.EventType(), err)
		}
		again, err := event.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := compact(t, golden); !bytes.Equal(compact(t, again), want) {
			t.Errorf("%s: read from another shape and written again:\n%s\nwant\n%s", data.EventType(), again, want)
		}
	}
}

// compact removes white space, also within free JSON, which otherwise keeps its author's white space.
func compact(t *testing.T, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, body); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// One decoder is used for a whole replay: nothing of one event may appear in the next.
func TestDecodeIntoLeavesNothingBehind(t *testing.T) {
	var decoder Decoder
	var event Event
	full, err := sampleEvent(samples[0]).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := decoder.DecodeInto(full, &event); err != nil {
		t.Fatal(err)
	}
	bare := &Event{Source: "/system", Time: time.Unix(1, 0).UTC(), Data: &SessionReported{
		SessionID: "s",
		Kind:      ReportProgress,
	}}
	body, err := bare.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := decoder.DecodeInto(body, &event); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(&event, bare) {
		t.Errorf("got %+v, want %+v", event, *bare)
	}
}

// The body belongs to the caller, who may reuse its memory.
func TestDecodeKeepsNoBody(t *testing.T) {
	for _, data := range samples {
		body := readGolden(t, goldenPath(data.EventType()))
		event, err := Decode(body)
		if err != nil {
			t.Fatal(err)
		}
		want, err := event.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range body {
			body[i] = 'x'
		}
		if got, err := event.Append(nil); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: changed with its body: %s (%v)", data.EventType(), got, err)
		}
	}
}

func TestInternedStringsAreBounded(t *testing.T) {
	var decoder Decoder
	for i := range 2 * maxInterned {
		decoder.intern([]byte{byte(i), byte(i >> 8)})
	}
	if len(decoder.interned) != maxInterned {
		t.Errorf("%d strings are kept, want %d", len(decoder.interned), maxInterned)
	}
	if s := decoder.intern([]byte("one more")); s != "one more" {
		t.Errorf("got %q", s)
	}
}

// Decoding a truncated body fails without a panic. A body with a flipped bit fails too, or has another hash and decodes
// to an event that can be written.
func TestDecodeDamaged(t *testing.T) {
	for _, data := range samples {
		golden := readGolden(t, goldenPath(data.EventType()))
		for i := range golden {
			if event, err := Decode(golden[:i]); err == nil {
				t.Fatalf("%s cut at %d decodes to %+v", data.EventType(), i, event)
			}
			flipped := slices.Clone(golden)
			flipped[i] ^= 0x01
			event, err := Decode(flipped)
			if err != nil {
				continue
			}
			if BodyHash(flipped) == BodyHash(golden) {
				t.Fatalf("%s: a flipped bit at %d has the same hash", data.EventType(), i)
			}
			if _, err := event.Append(nil); err != nil {
				t.Fatalf("%s with byte %d flipped is decoded, but cannot be written: %v", data.EventType(), i, err)
			}
		}
	}
}

// Reports have a hand-written encoder, because most of a log consists of reports. It must not forget a field.
func TestEveryFieldOfAReportIsWritten(t *testing.T) {
	shape := reflect.TypeFor[SessionReported]()
	for i := range shape.NumField() {
		report := &SessionReported{SessionID: "s", Kind: ReportProgress}
		switch field := reflect.ValueOf(report).Elem().Field(i).Addr().Interface().(type) {
		case *bool:
			*field = true
		case *string:
			*field = "text"
		case *ReportKind:
			*field = ReportError
		case *[]string:
			*field = []string{"a", "b"}
		case *Blobs:
			*field = Blobs{"message": "digest"}
		default:
			t.Fatalf("%s: add a value for it here", shape.Field(i).Name)
		}
		want, err := json.Marshal(report)
		if err != nil {
			t.Fatal(err)
		}
		written, err := AppendData(nil, report)
		if err != nil || string(written) != string(want) {
			t.Errorf("%s: written as %s, %v; want %s", shape.Field(i).Name, written, err, want)
		}
		var read SessionReported
		if (&Decoder{}).report(want, &read) && !reflect.DeepEqual(&read, report) {
			t.Errorf("%s: %s is read as %+v", shape.Field(i).Name, want, read)
		}
	}
}
