package events

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	cloudevent "github.com/cloudevents/sdk-go/v2/event"
)

var update = flag.Bool("update", false, "write the golden files anew")

func goldenPath(eventType string) string {
	return filepath.Join("testdata", "golden", eventType+".json")
}

// TestMain writes the golden files with -update, before any test reads them.
func TestMain(m *testing.M) {
	flag.Parse()
	if *update {
		for _, data := range samples {
			body, err := sampleEvent(data).Append(nil)
			if err == nil {
				err = os.WriteFile(goldenPath(data.EventType()), append(body, '\n'), 0o644)
			}
			if err != nil {
				panic(fmt.Sprintf("write the golden file of %s: %v", data.EventType(), err))
			}
		}
	}
	os.Exit(m.Run())
}

// TestGolden compares the encoding of every type with the bytes that are already in logs. The golden file of a
// published type changes only when an optional field is added.
func TestGolden(t *testing.T) {
	for _, data := range samples {
		t.Run(data.EventType(), func(t *testing.T) {
			event := sampleEvent(data)
			body, err := event.Append(nil)
			if err != nil {
				t.Fatal(err)
			}
			golden := readGolden(t, goldenPath(data.EventType()))
			if !bytes.Equal(body, golden) {
				t.Fatalf("written:\n%s\ngolden:\n%s", body, golden)
			}
			var fast Event
			if err := new(Decoder).fast(golden, &fast); err != nil {
				t.Errorf("the fast decoder does not know our own shape: %v", err)
			} else if !reflect.DeepEqual(&fast, event) {
				t.Errorf("the fast decoder reads\n%+v, want\n%+v", fast, *event)
			}
			slow, err := decodeWithSDK(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(slow, event) {
				t.Errorf("the SDK reads\n%+v, want\n%+v", *slow, *event)
			}
			again, err := slow.Append(nil)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(again, golden) {
				t.Errorf("encoded again:\n%s\ngolden:\n%s", again, golden)
			}
		})
	}
}

// TestGoldenIsCloudEvents has the SDK alone validate the golden files and the results of CloudEvent.
func TestGoldenIsCloudEvents(t *testing.T) {
	for _, data := range samples {
		golden := readGolden(t, goldenPath(data.EventType()))
		var theirs cloudevent.Event
		if err := json.Unmarshal(golden, &theirs); err != nil {
			t.Fatalf("%s: %v", data.EventType(), err)
		}
		if err := theirs.Validate(); err != nil {
			t.Errorf("%s: %v", data.EventType(), err)
		}
		if theirs.SpecVersion() != "1.0" || theirs.Type() != data.EventType() ||
			theirs.DataSchema() != Schema(data.EventType()) {
			t.Errorf("%s: the SDK sees version %s, type %s, schema %s", data.EventType(), theirs.SpecVersion(),
				theirs.Type(), theirs.DataSchema())
		}
		ours, err := sampleEvent(data).CloudEvent()
		if err != nil {
			t.Fatalf("%s: %v", data.EventType(), err)
		}
		if !reflect.DeepEqual(ours, theirs) {
			t.Errorf("%s: CloudEvent gives\n%v, the golden file holds\n%v", data.EventType(), ours, theirs)
		}
		back, err := FromCloudEvent(theirs)
		if err != nil {
			t.Fatalf("%s: %v", data.EventType(), err)
		}
		if !reflect.DeepEqual(back, sampleEvent(data)) {
			t.Errorf("%s: FromCloudEvent gives %+v", data.EventType(), *back)
		}
	}
}

// Every golden file stays readable, even if nothing writes its type any more.
func TestEveryGoldenFileIsRead(t *testing.T) {
	paths, err := filepath.Glob(goldenPath("*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) < len(Catalogue()) {
		t.Errorf("%d golden files for %d types", len(paths), len(Catalogue()))
	}
	for _, path := range paths {
		event, err := Decode(readGolden(t, path))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if want := strings.TrimSuffix(filepath.Base(path), ".json"); event.Data.EventType() != want {
			t.Errorf("%s holds a %s", path, event.Data.EventType())
		}
	}
}

func readGolden(t testing.TB, path string) []byte {
	t.Helper()
	golden, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSuffix(golden, []byte("\n"))
}

// CloudEvent returns the event as a value of the CloudEvents SDK.
func (e *Event) CloudEvent() (cloudevent.Event, error) {
	body, err := e.Append(nil)
	if err != nil {
		return cloudevent.Event{}, err
	}
	var out cloudevent.Event
	if err := json.Unmarshal(body, &out); err != nil {
		return cloudevent.Event{}, fmt.Errorf("as a CloudEvent: %w", err)
	}
	return out, out.Validate()
}
