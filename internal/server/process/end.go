package process

import (
	"context"
	"time"
)

// endsWithin is how long a server may take to stop: ten times what it promises.
const endsWithin = 10 * time.Second

// EndInTime calls exit when the process is still there some time after ctx has ended: a disk, or a pipe in the place of
// a file, that never answers would hold a stop for ever. What was acknowledged is on the disk by then.
func EndInTime(ctx context.Context, exit func()) {
	context.AfterFunc(ctx, func() { time.AfterFunc(endsWithin, exit) })
}
