package process

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// IgnoreHangUps keeps the server running when its terminal goes away or it is asked to reload its options, and logs
// that. stop ends it and waits for it.
func IgnoreHangUps(ctx context.Context, logger *slog.Logger) (stop func()) {
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP)
	stopSaying := Beside(ctx, func(ctx context.Context) {
		for {
			select {
			case <-hangUps:
				logger.Info("the hang-up signal is ignored", "next", "restart the server to change its options")
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		stopSaying()
		signal.Stop(hangUps)
	}
}
