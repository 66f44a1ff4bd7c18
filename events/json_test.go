package events

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// standardJSON returns what encoding/json writes without HTML escapes, which our own encoder must write too.
func standardJSON(t testing.TB, value any) []byte {
	t.Helper()
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// texts are strings that encoders often get wrong.
func texts() []string {
	list := []string{
		"", "plain", "<b>&\"quotes\"\\</b>", "line\nline\ttab\r", "\b\f\x00\x1f\x7f", "\u2028 and \u2029", "héllo ✓ 🙂",
		"\ufffd",
		"\xff", "a\xc3", "\xed\xa0\x80", "ends with \xe2\x80", "\xe2\x80\xa8", strings.Repeat("long ", 1000),
	}
	for c := range 256 {
		list = append(list, string([]byte{'a', byte(c), 'b'}), string(rune(c)))
	}
	return list
}

func FuzzAppendString(f *testing.F) {
	for _, text := range texts() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, want := AppendString([]byte("x"), text), append([]byte("x"), standardJSON(t,
			text)...); !bytes.Equal(got, want) {
			t.Fatalf("%q: got %s, want %s", text, got, want)
		}
	})
}

// The report has an encoder and a decoder of its own; they must write and read what encoding/json would, whatever is
// set.
func TestReportByHand(t *testing.T) {
	tried := 0
	var decoder Decoder
	for i, text := range texts() {
		kinds := []ReportKind{ReportProgress, ReportComplete, ReportBlocked, ReportError, ReportNeedsInput, "", "od\"d"}
		if i > 20 {
			kinds = kinds[:1]
		}
		for _, kind := range kinds {
			for _, tasks := range [][]string{nil, {}, {"task_1"}, {"task_1", text, "task_3"}} {
				for _, blobs := range []Blobs{nil, {}, {"message": digest}} {
					for flags := range 4 {
						report := &SessionReported{
							SessionID:        "sess_1",
							Kind:             kind,
							Message:          text,
							TaskIDs:          tasks,
							Blobs:            blobs,
							SessionCompleted: flags&1 != 0,
							Late:             flags&2 != 0,
						}
						if text != "" && flags == 3 {
							report.SessionID = text
						}
						got, err := AppendData([]byte("x"), report)
						if err != nil {
							t.Fatal(err)
						}
						if want := append([]byte("x"), standardJSON(t, report)...); !bytes.Equal(got, want) {
							t.Fatalf("%+v:\ngot  %s\nwant %s", *report, got, want)
						}
						var standard SessionReported
						if err := json.Unmarshal(got[1:], &standard); err != nil {
							t.Fatal(err)
						}
						read, err := decoder.data(byType[report.EventType()], got[1:])
						if err != nil || !reflect.DeepEqual(read, &standard) {
							t.Fatalf("%s:\nread     %+v, %v\nstandard %+v", got, read, err, standard)
						}
						tried++
					}
				}
			}
		}
	}
	if tried < 10_000 {
		t.Errorf("only %d combinations were tried", tried)
	}
}

func TestAppendDataOfEveryType(t *testing.T) {
	for _, data := range samples {
		got, err := AppendData(nil, data)
		if err != nil {
			t.Fatal(err)
		}
		if want := standardJSON(t, data); !bytes.Equal(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	if _, err := (&Event{}).Append(nil); err == nil {
		t.Error("an event without a payload was written")
	}
	broken := &Event{Data: &SessionNoted{SessionID: "s", Type: "t", Data: json.RawMessage(`{"cut"`)}}
	if _, err := broken.Append(nil); err == nil {
		t.Error("a payload with broken JSON was written")
	}
}

func TestAppendBoundsTheBody(t *testing.T) {
	event := sampleEvent(&ProjectCreated{ProjectID: "p"})
	body, err := event.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	room := MaxBody - len(body) - len(`,"description":""`)
	event.Data = &ProjectCreated{ProjectID: "p", Description: strings.Repeat("x", room)}
	// Bytes before the body in the same buffer do not count.
	if body, err := event.Append(make([]byte, 100)); err != nil || len(body) != MaxBody+100 {
		t.Errorf("the longest body: %d bytes, %v", len(body), err)
	}
	event.Data = &ProjectCreated{ProjectID: "p", Description: strings.Repeat("x", room+1)}
	if _, err := event.Append(nil); err == nil || err.Error() != (&TooLargeError{Bytes: MaxBody + 1}).Error() {
		t.Errorf("one byte more: %v", err)
	}
}
