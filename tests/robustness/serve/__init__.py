"""Services under faults, overload, hostile pages, and clients of another make."""
