// `maestro open` names the code behind the #, which browsers do not send. It is sent in a form, and forgotten.
const words = new URLSearchParams(location.hash.slice(1));
if (words.get("code")) {
	history.replaceState(null, "", "/login");
	const form = document.querySelector("form");
	form.elements.code.value = words.get("code");
	form.elements.path.value = words.get("path") || "/";
	form.submit();
}
