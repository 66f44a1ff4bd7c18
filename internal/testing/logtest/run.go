package logtest

import (
	"slices"
	"testing"
)

// Run checks an implementation against the guarantees of engine.Log. open returns a new, empty log for each trap.
func Run(t *testing.T, open func(t *testing.T) Fixture) {
	t.Helper()
	for _, trap := range traps() {
		t.Run(trap.name, func(t *testing.T) { trap.run(t, open(t)) })
	}
}

// RunTrap runs one trap by its name.
func RunTrap(t *testing.T, name string, open func(t *testing.T) Fixture) {
	t.Helper()
	all := traps()
	i := slices.IndexFunc(all, func(trap trap) bool { return trap.name == name })
	if i < 0 {
		t.Fatalf("there is no trap %q", name)
	}
	all[i].run(t, open(t))
}

type trap struct {
	name string
	run  func(t *testing.T, f Fixture)
}

func traps() []trap {
	return []trap{
		{"GuardAtZero", guardAtZero},
		{"AppendsAreRead", appendsAreRead},
		{"BodiesBelongToTheCaller", bodiesBelongToTheCaller},
		{"YieldEndsTheReading", yieldEndsTheReading},
		{"ReadBeyondTheHead", readBeyondTheHead},
		{"Conflict", conflict},
		{"Duplicate", duplicate},
		{"CancelledBeforeSending", cancelledBeforeSending},
		{"StrangerBetween", strangerBetween},
		{"StrangerInThePipeline", strangerInThePipeline},
		{"SecondWriter", secondWriter},
		{"TimeOutAfterCommitting", timeOutAfterCommitting},
		{"LeaderStepsDown", leaderStepsDown},
		{"ReadWhileSyncing", readWhileSyncing},
		{"SyncedSurvivesACrash", syncedSurvivesACrash},
		{"CrashWhileAppending", crashWhileAppending},
		{"FullDisk", fullDisk},
		{"FlippedOldBit", func(t *testing.T, f Fixture) { damage(t, f, FlipOldBit) }},
		{"FlippedLastBit", func(t *testing.T, f Fixture) { damage(t, f, FlipLastBit) }},
		{"CutTail", func(t *testing.T, f Fixture) { damage(t, f, CutTail) }},
	}
}
