package bus

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// A batch that begins while its stream stops gets a store in nats-server that nothing stops any more (in its stream.go,
// a message that is already being handled recreates what unsubscribeToStream has emptied). Only that store's goroutines
// are ignored: a server that was left running has many others.
func TestMain(m *testing.M) {
	const server = "github.com/nats-io/nats-server/v2/server"
	goleak.VerifyTestMain(m,
		goleak.Cleanup(func(code int) {
			if sample.dir != "" {
				_ = os.RemoveAll(sample.dir)
			}
			os.Exit(code)
		}),
		goleak.IgnoreAnyFunction(server+".(*fileStore).flushStreamStateLoop"),
		goleak.IgnoreAnyFunction(server+".(*msgBlock).flushLoop"),
		goleak.IgnoreAnyFunction(server+"/ats.Register.func1"),
		// A publisher that is cleaned up right after its first message leaves a goroutine that waits on a nil channel.
		goleak.IgnoreAnyFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"),
	)
}
