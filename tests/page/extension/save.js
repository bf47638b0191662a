// Send one request as the query of this page says: save.html?address=...&authorization=...
const query = new URLSearchParams(location.search);
const headers = { "Content-Type": "application/json" };
if (query.has("authorization")) headers.Authorization = query.get("authorization");
const body = JSON.stringify({ uri: "https://a.example/", title: "From an extension" });
const show = (text) => { document.querySelector("output").textContent = text; };
fetch(query.get("address"), { method: "POST", headers, body })
  .then((response) => show(String(response.status)))
  .catch((error) => show(String(error)));
