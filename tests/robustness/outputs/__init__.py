"""What Onym writes and explains, judged by other libraries and by another look at it."""
