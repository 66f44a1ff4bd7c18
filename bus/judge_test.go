package bus

import (
	"encoding/binary"
	"os"
	"testing"
	"time"
)

// aged returns a block of the log whose first n records were written earlier.
func aged(content []byte, at []int, n int, by time.Duration) []byte {
	parser := newRecordParser(StreamName, "", 1)
	for _, i := range at[:n] {
		record := content[i : i+claimed(content[i:])]
		written := int64(binary.LittleEndian.Uint64(record[12:])) - by.Nanoseconds() //nolint:gosec // a time
		binary.LittleEndian.PutUint64(record[12:], uint64(written))                  //nolint:gosec // a time
		data := record[recordHead : len(record)-recordSum]
		subject := int(binary.LittleEndian.Uint16(record[20:]))
		begin := subject
		if binary.LittleEndian.Uint32(record)&headerBit != 0 {
			begin += 4
		}
		parser.sum.Reset()
		_, _ = parser.sum.Write(record[4:20])
		_, _ = parser.sum.Write(data[:subject])
		_, _ = parser.sum.Write(data[begin:])
		copy(record[len(record)-recordSum:], parser.sum.Sum(nil))
	}
	return content
}

// TestLazySyncsForgiveTheLastSecondsOnly: if syncs are lazy, a hole that a power cut cannot have left is damage, and
// nothing after it is cut off.
func TestLazySyncsForgiveTheLastSecondsOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := mustOpen(t, dir, Interval)
	filled(t, b, 30)
	log := allOf(t, b)
	for _, c := range []struct {
		name     string
		old      int // number of records that are an hour old
		hole     int
		headFile uint64
		damage   bool
	}{
		{name: "no head file", hole: 2, damage: true},
		{
			name:   "no head file, an old log",
			old:    28,
			hole:   2,
			damage: true,
		},
		{
			name:     "an old head file, and old events after the hole",
			old:      28,
			hole:     2,
			headFile: 1,
			damage:   true,
		},
		{
			name:     "an old head file, and old events before the hole",
			old:      13,
			hole:     14,
			headFile: 10,
			damage:   true,
		},
		{
			name:     "a head file of the last second",
			old:      10,
			hole:     14,
			headFile: 10,
		},
		{
			name:     "a head file after the hole",
			old:      10,
			hole:     14,
			headFile: 16,
			damage:   true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			image := storeCopy(t, dir)
			content, at := recordsOf(t, blockPath(image, 1))
			content = aged(content, at, c.old, time.Hour)
			content[at[c.hole]+recordHead+40] ^= 1
			if err := os.WriteFile(blockPath(image, 1), content, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := readable(t, image); len(got) != len(log)-1 {
				t.Fatalf("%d events can be read", len(got))
			}
			b := openWitnessed(t, image, Interval, c.headFile)
			if (b.Damage() != nil) != c.damage {
				t.Fatalf("damage: %v", b.Damage())
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			if left := len(readable(t, image)); c.damage && left != len(log)-1 || !c.damage && left != c.hole {
				t.Errorf("%d events are left", left)
			}
		})
	}
}
