package bus

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

// A failed write that the server logs is noticed, whether the file is named by an error or in text.
func TestTroubleOfTheServer(t *testing.T) {
	t.Parallel()
	path := &fs.PathError{Op: "open", Path: "1.blk", Err: fs.ErrPermission}
	for name, c := range map[string]struct {
		format  string
		words   []any
		trouble string
	}{
		"a file":            {"Filestore [X] %s failed: %v", []any{"sync", path}, "open 1.blk"},
		"words alone":       {"Filestore Critical write error: %v", []any{errors.New("open 1.blk")}, "open 1.blk"},
		"words of a stream": {"JetStream stream critical write error: %v", []any{"1.blk"}, "1.blk"},
		"something else":    {"it is slow: %v", []any{errors.New("1.blk")}, ""},
		"staging that is gone": {
			"Failed restoring: %v",
			[]any{&fs.PathError{Op: "stat", Path: "batches/x", Err: fs.ErrNotExist}},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var trouble error
			log := &serverLog{logger: testLogger(t), failed: func(err error) { trouble = err }}
			log.Errorf(c.format, c.words...)
			if (trouble == nil) != (c.trouble == "") ||
				trouble != nil && !strings.Contains(trouble.Error(), c.trouble) {
				t.Errorf("trouble: %v", trouble)
			}
		})
	}
}
