package listen

import "testing"

// Port 0 reuses the home's last port if it is free. If it is not, or was on another host, any free port is used.
func TestListenTakesItsPortAgain(t *testing.T) {
	first, err := On(t.Context(), "127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	last := first.Addr().String()
	taken, err := On(t.Context(), "127.0.0.1:0", last)
	if err != nil || taken.Addr().String() == last {
		t.Fatalf("while the port is taken: %v, %v", taken, err)
	}
	defer func() { _ = taken.Close() }()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	elsewhere, err := On(t.Context(), "[::1]:0", last)
	if err == nil && elsewhere.Addr().String() == last {
		t.Errorf("another host: %s", elsewhere.Addr())
	}
	if err == nil {
		defer func() { _ = elsewhere.Close() }()
	}
	again, err := On(t.Context(), "127.0.0.1:0", last)
	if err != nil || again.Addr().String() != last {
		t.Fatalf("when it is free again: %v, %v", again, err)
	}
	_ = again.Close()
}
