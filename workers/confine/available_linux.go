package confine

import (
	"errors"
	"fmt"
	"runtime"
)

// namespacesAdvice names what forbids user namespaces on common systems.
const namespacesAdvice = "this system forbids user namespaces: set the sysctl user.max_user_namespaces above 0, on " +
	"Ubuntu kernel.apparmor_restrict_unprivileged_userns to 0, on Debian kernel.unprivileged_userns_clone to 1; a " +
	"container has to allow them"

// candidates are the layers of this system. Those that a look at the kernel excludes have a reason.
func candidates() []candidate {
	var landlockMissing, portsMissing, seccompMissing error
	version := kernelLandlock()
	if version == 0 {
		version = oldestLandlock
		landlockMissing = fmt.Errorf("this kernel has no Landlock, or one older than version %d: "+
			"use Linux 6.2 or later, with landlock in its lsm= list", oldestLandlock)
	}
	if portsMissing = landlockMissing; portsMissing == nil && version < landlockPorts {
		portsMissing = fmt.Errorf("this kernel has %s, which cannot restrict ports: use Linux 6.7 or later",
			landlock(version))
	}
	if _, known := thisMachine(); !known {
		seccompMissing = fmt.Errorf("there is no filter for processors of type %s", runtime.GOARCH)
		portsMissing = errors.Join(portsMissing, seccompMissing)
	}
	return []candidate{
		{layer: landlock(version), missing: landlockMissing},
		{layer: Namespaces, advice: namespacesAdvice},
		{layer: Seccomp, missing: seccompMissing},
		{layer: NoNewPrivileges},
		{layer: NetworkPorts, with: []Layer{landlock(version), Seccomp}, missing: portsMissing},
		{layer: NetworkNone, with: []Layer{Namespaces}, advice: namespacesAdvice},
	}
}
