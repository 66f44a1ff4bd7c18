package process

import (
	"context"
	"time"
)

// endsWithin bounds the stop of a server: ten times the promised time.
const endsWithin = 10 * time.Second

// EndInTime calls exit if the process is still running some time after ctx has ended: a disk, or a pipe in the place of
// a file, that never responds would block the stop forever. Everything acknowledged is on the disk by then.
func EndInTime(ctx context.Context, exit func()) {
	context.AfterFunc(ctx, func() { time.AfterFunc(endsWithin, exit) })
}
