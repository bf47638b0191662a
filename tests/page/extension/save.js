// Send one request as the query of this page says:
// save.html?address=...&authorization=...&method=GET
const query = new URLSearchParams(location.search);
const headers = { "Content-Type": "application/json" };
if (query.has("authorization")) headers.Authorization = query.get("authorization");
const bookmark = { uri: "https://a.example/", title: "From an extension" };
const method = query.get("method") || "POST";
const body = method === "POST" ? JSON.stringify(bookmark) : undefined;
const show = (text) => { document.querySelector("output").textContent = text; };
fetch(query.get("address"), { method, headers, body })
  .then((response) => show(String(response.status)))
  .catch((error) => show(String(error)));
